/** On every page of a demo: that it is one, and where its day stands. */
import { Group, Text } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { useLocation } from "@tanstack/react-router";
import { demoQuery } from "../api/demo";
import { AnchorLink } from "../parts/links";

export function DemoBanner() {
  const state = useQuery(demoQuery).data;
  const phase = state?.phases.findLast((each) => each.from <= state.minute)?.phase;
  const isThere = useLocation({ select: (location) => location.pathname === "/demo" });
  return (
    <Group className="demo-banner" gap="sm" px="md" py={4} justify="center" role="note" aria-label="Demo">
      <Text size="sm">
        <b>Demo</b>: all data is removed when the demo ends.{phase ? ` The shop's day: ${phase}.` : ""}{" "}
        {!isThere && (
          <AnchorLink to={"/demo"} size="sm" underline="always" c="inherit" className="nowrap">
            Watch the demo
          </AnchorLink>
        )}
      </Text>
    </Group>
  );
}
