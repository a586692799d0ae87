import { Button, Card, Group, Stack, Text, TextInput, Title } from "@mantine/core";
import { IconPlus } from "@tabler/icons-react";
import { useQuery } from "@tanstack/react-query";
import { useState } from "react";
import { asProblem } from "../../api/client";
import { type Tenant, tenantActs, tenantsQuery } from "../../api/installation";
import { useSession } from "../../api/session";
import { Dialog } from "../../parts/Dialog";
import { Failed, Pending } from "../../parts/Outcomes";
import { useAction } from "../../parts/useAction";
import { duration } from "../../words/duration";
import { QuotaForm } from "./QuotaForm";

const most = (limit: number | null): string => (limit === null ? "no limit" : limit.toLocaleString());

export function Tenants() {
  const tenants = useQuery(tenantsQuery);
  const session = useSession();
  const [making, setMaking] = useState(false);
  const [changing, setChanging] = useState<Tenant | null>(null);
  if (tenants.error) return <Failed fault={tenants.error} retry={() => void tenants.refetch()} />;
  if (!tenants.data) return <Pending />;
  return (
    <Stack component="section" aria-label="Tenants">
      <Group justify="space-between" align="flex-end">
        <div>
          <Title order={2}>Tenants</Title>
          <Text size="sm" c="dimmed">
            Tenants are fully isolated: endpoints, runs and keys are not shared.
          </Text>
        </div>
        <Button leftSection={<IconPlus size={16} />} onClick={() => setMaking(true)}>
          New tenant
        </Button>
      </Group>
      <Card padding={0}>
        <table className="list stacks">
          <thead>
            <tr>
              <th>Tenant</th>
              <th className="figure">Runs this month</th>
              <th className="figure">Maximum endpoints</th>
              <th className="figure">Model tokens per month</th>
              <th className="figure">Shortest interval</th>
              <th>Actions</th>
            </tr>
          </thead>
          <tbody>
            {tenants.data.items.map((tenant) => (
              <tr key={tenant.id}>
                <td className="stack-title name-cell">
                  <div>
                    <div className="go-strong breaks">{tenant.name}</div>
                    <div className="small mono">
                      {tenant.id}
                      {tenant.id === session.tenant ? ", where you are now" : ""}
                    </div>
                  </div>
                </td>
                <td data-label="Runs" className="figure">
                  {tenant.runs_this_month.toLocaleString()}
                  {tenant.runs_per_month === null ? ", no limit" : ` of ${most(tenant.runs_per_month)}`}
                </td>
                <td data-label="Endpoints" className="figure">
                  {most(tenant.endpoints_max)}
                </td>
                <td data-label="Tokens" className="figure">
                  {most(tenant.tokens_per_month)}
                </td>
                <td data-label="Interval" className="figure">
                  {tenant.interval_ms_min === null ? "no limit" : duration(tenant.interval_ms_min)}
                </td>
                <td>
                  <Button
                    size="compact-sm"
                    variant="default"
                    aria-label={`Edit ${tenant.name}`}
                    onClick={() => setChanging(tenant)}
                  >
                    Edit
                  </Button>
                </td>
              </tr>
            ))}
          </tbody>
        </table>
      </Card>
      {making && <TenantForm close={() => setMaking(false)} />}
      {changing && (
        <QuotaForm
          title={`Edit ${changing.name}`}
          name={changing.name}
          quotas={changing}
          save={(wanted) => tenantActs.update(changing.id, wanted)}
          close={() => setChanging(null)}
        />
      )}
    </Stack>
  );
}

function TenantForm({ close }: { close: () => void }) {
  const [id, setId] = useState("");
  const [name, setName] = useState("");
  const make = useAction(() => tenantActs.create({ id, name }), {
    done: (made) => `${made.name} is created, and you are its owner: open it from the menu of tenants in the header`,
    after: close,
    quiet: true,
  });
  const fault = make.error ? asProblem(make.error) : null;
  const isPlaced = fault?.of("id") || fault?.of("name");
  return (
    <Dialog onClose={close} title="New tenant">
      <form
        onSubmit={(event) => {
          event.preventDefault();
          make.mutate(undefined);
        }}
      >
        <Stack>
          <TextInput
            label="ID"
            description="Used in scripts and URLs: a-z, 0-9 and -. It cannot be changed later."
            placeholder="acme"
            required
            value={id}
            onChange={(event) => setId(event.currentTarget.value)}
            error={fault?.of("id")}
            data-autofocus
          />
          <TextInput
            label="Name"
            placeholder={id || "Acme Inc"}
            value={name}
            onChange={(event) => setName(event.currentTarget.value)}
            error={fault?.of("name")}
          />
          <Text size="sm" c="dimmed">
            You become the first owner. There are no quotas until you set them.
          </Text>
          {fault && !isPlaced && (
            <Text size="sm" c="red" role="alert">
              {fault.message}
            </Text>
          )}
          <Group justify="flex-end">
            <Button variant="default" onClick={close}>
              Cancel
            </Button>
            <Button type="submit" loading={make.isPending}>
              Create tenant
            </Button>
          </Group>
        </Stack>
      </form>
    </Dialog>
  );
}
