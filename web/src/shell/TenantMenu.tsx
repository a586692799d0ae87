/** The tenant of this tab in the header, and links to the others: a new tab may have another tenant. */
import { Button, Menu, Text } from "@mantine/core";
import { IconChevronDown } from "@tabler/icons-react";
import type { MouseEvent } from "react";
import { api } from "../api/client";
import { useSession, useTenantName } from "../api/session";
import { pathIn, rememberTenant } from "../api/tenant";

export function TenantMenu() {
  const session = useSession();
  const name = useTenantName();
  if (name === null) return null;
  if (session.tenants.length < 2) {
    return (
      <Text className="tenant clip" size="sm" fw={600} title={`Tenant ${name}`}>
        {name}
      </Text>
    );
  }
  const choose = (event: MouseEvent, tenant: string) => {
    if (event.ctrlKey || event.metaKey || event.shiftKey) return; // a new tab, and this one stays as it is
    rememberTenant(tenant);
    void api.PUT("/api/v1/auth/tenant", { body: { tenant }, keepalive: true }); // the default at the next login
  };
  return (
    <Menu position="bottom-start" width={260}>
      <Menu.Target>
        <Button
          className="tenant"
          variant="default"
          size="compact-md"
          rightSection={<IconChevronDown size={14} />}
          aria-label={`Tenant ${name}`}
        >
          {name}
        </Button>
      </Menu.Target>
      <Menu.Dropdown>
        <Menu.Label>Tenants</Menu.Label>
        {session.tenants.map((each) => (
          <Menu.Item
            key={each.tenant}
            component="a"
            href={pathIn(each.tenant)}
            className="breaks"
            aria-current={each.tenant === session.tenant}
            fw={each.tenant === session.tenant ? 600 : 400}
            rightSection={
              <Text size="xs" c="dimmed">
                {each.role}
              </Text>
            }
            onClick={(event: MouseEvent) => choose(event, each.tenant)}
          >
            {each.name || each.tenant}
          </Menu.Item>
        ))}
      </Menu.Dropdown>
    </Menu>
  );
}
