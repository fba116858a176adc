"""The passes of coopc, one file each, in folders by what they work on."""
