"""The door into asyncio servers, and the ASGI application."""
