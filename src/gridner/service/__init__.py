"""The service and its page: the recognizer behind HTTP. Needs the extra `serve`."""
