/** On every page of a demo: that it is one, and where its day stands. */
import { Anchor, Group, Text } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { Link, useLocation } from "@tanstack/react-router";
import { demoQuery } from "../api/demo";

export function DemoBanner() {
  const state = useQuery(demoQuery).data;
  const phase = state?.phases.findLast((each) => each.from <= state.minute)?.phase;
  const isThere = useLocation({ select: (location) => location.pathname === "/demo" });
  return (
    <Group className="demo-banner" gap="sm" px="md" py={4} justify="center" role="note" aria-label="Demo">
      <Text size="sm">
        <b>Demo</b>: everything here is removed when it ends.{phase ? ` The shop's day: ${phase}.` : ""}{" "}
        {!isThere && (
          <Anchor component={Link} to={"/demo" as never} size="sm" underline="always" c="inherit" className="nowrap">
            Watch its day
          </Anchor>
        )}
      </Text>
    </Group>
  );
}
