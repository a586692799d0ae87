pytest_plugins = ["mainspring.testing.fixture"]
