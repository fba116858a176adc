"""The passes of coopc, in folders by what they work on."""
