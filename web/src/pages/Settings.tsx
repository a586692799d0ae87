/**
 * Who is told, usage, configuration as a document, keys, members, users and tenants of the installation, the audit
 * trail, and how things look.
 */
import { Tabs } from "@mantine/core";
import { useNavigate, useSearch } from "@tanstack/react-router";
import type { ComponentType } from "react";
import { useMay, useSession } from "../api/session";
import { Page } from "../parts/Page";
import { TabRow } from "../parts/TabRow";
import { Account } from "./settings/Account";
import { Alerts } from "./settings/Alerts";
import { Audit } from "./settings/Audit";
import { Calendars } from "./settings/Calendars";
import { Configuration } from "./settings/Configuration";
import { Connections } from "./settings/Connections";
import { Installation } from "./settings/Installation";
import { Keys } from "./settings/Keys";
import { Maintenance } from "./settings/Maintenance";
import { Members } from "./settings/Members";
import { SigningKeys } from "./settings/SigningKeys";
import { Usage } from "./settings/Usage";
import { Webhooks } from "./settings/Webhooks";

type Part = { name: string; label: string; part: ComponentType; admin?: true; operator?: true };
const PARTS: Part[] = [
  { name: "account", label: "Account", part: Account },
  { name: "alerts", label: "Alerts", part: Alerts },
  { name: "webhooks", label: "Webhooks", part: Webhooks },
  { name: "maintenance", label: "Maintenance", part: Maintenance },
  { name: "calendars", label: "Calendars", part: Calendars },
  { name: "connections", label: "Connections", part: Connections },
  { name: "usage", label: "Usage and quotas", part: Usage },
  { name: "configuration", label: "Configuration", part: Configuration },
  { name: "keys", label: "API keys", part: Keys, admin: true },
  { name: "signing", label: "Signing keys", part: SigningKeys, admin: true },
  { name: "members", label: "Members", part: Members },
  { name: "installation", label: "Installation", part: Installation, operator: true },
  { name: "audit", label: "Audit trail", part: Audit, admin: true },
];

export function Settings() {
  const { tab } = useSearch({ from: "/inside/settings" });
  const navigate = useNavigate();
  const mayAdmin = useMay("admin");
  const { operator } = useSession();
  const parts = PARTS.filter((part) => (mayAdmin || !part.admin) && (operator || !part.operator));
  const shown = parts.find((part) => part.name === tab) ?? parts[0];
  return (
    <Page title="Settings">
      <Tabs
        value={shown?.name ?? null}
        keepMounted={false}
        onChange={(name) => void navigate({ to: "/settings", search: { tab: name ?? undefined } })}
      >
        <TabRow tabs={parts.map((part) => [part.name, part.label])} chosen={shown?.name ?? ""} />
        {parts.map((part) => (
          <Tabs.Panel key={part.name} value={part.name}>
            <part.part />
          </Tabs.Panel>
        ))}
      </Tabs>
    </Page>
  );
}
