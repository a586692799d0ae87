/** A secret that is shown now and never again. */
import { Alert, Button, Code, CopyButton, Group, Text } from "@mantine/core";
import { useEffect, useRef } from "react";

export function ShownOnce({ what, secret, children }: { what: string; secret: string; children?: React.ReactNode }) {
  const place = useRef<HTMLDivElement>(null);
  // biome-ignore lint/correctness/useExhaustiveDependencies: each new secret is brought into sight
  useEffect(() => {
    // The secret may be created far down in a list. Newer browsers answer with a promise, which is no cleanup.
    void place.current?.scrollIntoView({ block: "nearest" });
  }, [secret]);
  return (
    <Alert ref={place} color="orange" title={`${what}: copy it now. It is not shown again.`}>
      <Group gap="xs">
        <Code block className="breaks" style={{ whiteSpace: "pre-wrap", flex: "1 1 200px", minWidth: 0 }}>
          {secret}
        </Code>
        <CopyButton value={secret}>
          {({ copied, copy }) => (
            <Button size="xs" onClick={copy}>
              {copied ? "Copied" : "Copy"}
            </Button>
          )}
        </CopyButton>
      </Group>
      {children && (
        <Text size="sm" mt="xs" component="div">
          {children}
        </Text>
      )}
    </Alert>
  );
}
