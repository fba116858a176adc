class JITFunction:
    arg_names: list[str]
    file_name: str
    starting_line_number: int
    __name__: str
