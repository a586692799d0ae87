/** The frame of the pages before one is inside. */
import { Card, Center, Group, Text, Title } from "@mantine/core";
import { useDocumentTitle } from "@mantine/hooks";
import type { ReactNode } from "react";
import { Logo } from "../shell/Logo";

export function AuthLayout({ title, children }: { title: string; children: ReactNode }) {
  useDocumentTitle(`${title} · Mainspring`);
  return (
    <Center mih="100vh" p="md" component="main">
      <div style={{ width: "100%", maxWidth: 400 }}>
        <Group justify="center" gap="xs" mb="lg">
          <Logo size={32} />
          <Text fw={700} fz={24}>
            Mainspring
          </Text>
        </Group>
        <Card padding="lg" shadow="sm">
          <Title order={1} size="h2" mb="md">
            {title}
          </Title>
          {children}
        </Card>
      </div>
    </Center>
  );
}
