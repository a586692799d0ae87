/** The address names a tenant that this person is not a member of: say so, and offer the tenants they have. */
import { Button, Stack, Text } from "@mantine/core";
import type { NotAMember } from "../api/session";
import { pathIn } from "../api/tenant";
import { AuthLayout } from "./AuthLayout";

export function NotMember({ fault }: { fault: NotAMember }) {
  const { tenant, session } = fault;
  return (
    <AuthLayout title="You are not a member of this tenant">
      <Stack gap="sm">
        <Text size="sm" className="breaks">
          You are signed in as {session.user?.email ?? session.actor}, who is not a member of the tenant <b>{tenant}</b>
          , or the tenant does not exist. Ask an owner of the tenant to invite you.
        </Text>
        {session.tenants.map((each) => (
          <Button key={each.tenant} component="a" href={pathIn(each.tenant)} variant="default" fullWidth>
            Go to {each.name || each.tenant}
          </Button>
        ))}
      </Stack>
    </AuthLayout>
  );
}
