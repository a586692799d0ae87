import { Text } from "@mantine/core";
import { useSearch } from "@tanstack/react-router";
import { forgetTenant, ownAddress } from "../api/tenant";
import { Door } from "../parts/Door";
import { SignInForm } from "../parts/SignInForm";

export function Login() {
  const from = ownAddress(useSearch({ from: "/login" }).from);
  const enter = () => {
    forgetTenant();
    location.assign(from); // a fresh start: nothing that was read for another person or tenant stays
  };
  return (
    <Door title="Sign in">
      <SignInForm from={from} done={enter} />
      <Text size="xs" c="dimmed" mt="md">
        First time here? The server printed a link when it started. A new one, or a forgotten password:{" "}
        <span className="mono">mainspring user --help</span> on the server.
      </Text>
    </Door>
  );
}
