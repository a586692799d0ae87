import { Group, Stack, Text, Title } from "@mantine/core";
import { useDocumentTitle } from "@mantine/hooks";
import type { ReactNode } from "react";
import { useTenantName } from "../api/session";

type Props = { title: string; heading?: ReactNode; about?: ReactNode; actions?: ReactNode; children: ReactNode };

/** A page's frame: its name in the tab and on the page, what can be done here, and its content. */
export function Page({ title, heading, about, actions, children }: Props) {
  const tenant = useTenantName();
  useDocumentTitle([title, tenant, "Mainspring"].filter(Boolean).join(" · "));
  return (
    <Stack gap="md" p={{ base: "sm", sm: "lg" }} maw={1400} mx="auto" w="100%">
      <Group justify="space-between" align="flex-start" gap="sm">
        <div style={{ minWidth: 0 }}>
          <Title order={1} className="breaks">
            {heading ?? title}
          </Title>
          {about && (
            <Text c="dimmed" size="sm" component="div" mt={2}>
              {about}
            </Text>
          )}
        </div>
        {actions && (
          <Group gap="xs" className="page-actions">
            {actions}
          </Group>
        )}
      </Group>
      {children}
    </Stack>
  );
}
