"""coopc-opt: run passes over a file of IR, xDSL's and coopc's."""

from xdsl.xdsl_opt_main import xDSLOptMain

from coopc.universe import COOPC_UNIVERSE


class CoopcOptMain(xDSLOptMain):
    """xDSL's driver with coopc's dialects, passes and targets."""

    def register_all_dialects(self) -> None:
        """Register xDSL's and coopc's, also from a checkout that is not installed."""
        super().register_all_dialects()
        known = set(self.ctx.registered_dialect_names)
        for name, factory in COOPC_UNIVERSE.all_dialects.items():
            if name not in known:
                self.ctx.register_dialect(name, factory)

    def register_all_passes(self) -> None:
        """Register xDSL's and coopc's."""
        super().register_all_passes()
        self.available_passes |= COOPC_UNIVERSE.all_passes

    def register_all_targets(self) -> None:
        """Register xDSL's and coopc's."""
        super().register_all_targets()
        self.available_targets |= COOPC_UNIVERSE.all_targets


def main() -> None:
    """Run the tool on the command line's arguments."""
    CoopcOptMain("coopc modular optimizer driver").run()


if __name__ == "__main__":
    main()
