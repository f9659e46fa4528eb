"""Streams and devices that do nothing: calls on the host are complete when they return."""


class Device:
    def __init__(self, number=0):
        self.number = number

    def use(self):
        pass

    def synchronize(self):
        pass


class Stream:
    ptr = 0

    def __init__(self, non_blocking=False):
        pass

    def synchronize(self):
        pass
