import { Text } from "@mantine/core";
import { useSearch } from "@tanstack/react-router";
import { forgetTenant, ownAddress } from "../api/tenant";
import { AuthLayout } from "../parts/AuthLayout";
import { SignInForm } from "../parts/SignInForm";

export function Login() {
  const from = ownAddress(useSearch({ from: "/login" }).from);
  const enter = () => {
    forgetTenant();
    location.assign(from); // a fresh start: nothing that was read for another person or tenant stays
  };
  return (
    <AuthLayout title="Sign in">
      <SignInForm from={from} done={enter} />
      <Text size="xs" c="dimmed" mt="md">
        First time here? Use the link the server printed when it started. For a new link or a password reset, run{" "}
        <span className="mono">mainspring user --help</span> on the server.
      </Text>
    </AuthLayout>
  );
}
