"""What an image without an entry point of its own runs: the command of the container, as it is."""


def command(pod, args, env):
    """The command, and no more environment."""
    return [*pod.container["command"], *args], {}
