/** Everybody who may log in here, and every tenant: for operators of the installation. */
import { Stack } from "@mantine/core";
import { Tenants } from "./Tenants";
import { Users } from "./Users";

export function Installation() {
  return (
    <Stack gap="xl">
      <Users />
      <Tenants />
    </Stack>
  );
}
