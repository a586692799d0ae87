/**
 * A stranger's bytes, made harmless: text nodes only, never markup; as a tree where they are JSON, as text, and in
 * hex.
 */
import { Button, Group, SegmentedControl, Stack, Text } from "@mantine/core";
import { IconDownload } from "@tabler/icons-react";
import { useQuery } from "@tanstack/react-query";
import { useEffect, useState } from "react";
import { Problem } from "../api/client";
import { tenantHeader } from "../api/tenant";
import type { BodyShown } from "../api/types";
import { isBinary, PICTURES, pictureType } from "../words/bytes";
import { hexDump } from "../words/hex";
import { Failed } from "./Outcomes";
import { save } from "./save";
import { useAction } from "./useAction";

const TREE_MAX = 400_000; // characters; beyond it a tree of text nodes makes the page slow
const CHILDREN_MAX = 200;
const HEX_MAX = 8_192;

type Way = "tree" | "raw" | "hex" | "picture";

export function BodyViewer({ body, runId }: { body: BodyShown; runId?: string }) {
  const keep = useAction((run: string) => save(`/api/v1/runs/${encodeURIComponent(run)}/body/raw`, `${run}.body`), {
    onlyReads: true,
  });
  const value = body.text.length <= TREE_MAX && !body.truncated ? parsed(body.text) : undefined;
  const isPicture =
    !!runId && !body.truncated && PICTURES.some(([type]) => body.content_type.toLowerCase().startsWith(type));
  const [way, setWay] = useState<Way>(
    value !== undefined ? "tree" : isPicture ? "picture" : runId && isBinary(body.text) ? "hex" : "raw",
  );
  const ways = [
    ...(value === undefined ? [] : [{ value: "tree", label: "Tree" }]),
    ...(isPicture ? [{ value: "picture", label: "Image" }] : []),
    { value: "raw", label: "Text" },
    ...(runId ? [{ value: "hex", label: "Hex" }] : []),
  ];
  return (
    <Stack gap="xs">
      <Group justify="space-between" gap="xs">
        <Text size="xs" c="dimmed">
          {body.content_type || "no content type"} · {body.bytes_kept.toLocaleString()} bytes
          {body.truncated && ` kept of ${body.bytes_seen.toLocaleString()} or more: the rest was not read`}
        </Text>
        <Group gap="xs">
          {ways.length > 1 && (
            <SegmentedControl
              size="xs"
              value={way}
              onChange={(wanted) => setWay(wanted as Way)}
              data={ways}
              aria-label="Body view"
            />
          )}
          {runId && (
            <Button
              size="compact-xs"
              variant="default"
              leftSection={<IconDownload size={14} />}
              loading={keep.isPending}
              onClick={() => keep.mutate(runId)}
            >
              Download
            </Button>
          )}
        </Group>
      </Group>
      {way === "tree" && value !== undefined && (
        <div className="tree" data-testid="body-tree">
          <Node value={value} depth={0} />
        </div>
      )}
      {way === "raw" &&
        (body.text ? (
          <pre className="raw" tabIndex={0} aria-label="Body">
            {body.text}
          </pre>
        ) : (
          <Text size="sm" c="dimmed">
            The body is empty.
          </Text>
        ))}
      {way === "hex" && runId && <Hex runId={runId} />}
      {way === "picture" && runId && <Picture runId={runId} />}
    </Stack>
  );
}

/** A value that is known to be JSON, as a tree. */
export function JsonTree({ value }: { value: unknown }) {
  return (
    <div className="tree">
      <Node value={value} depth={0} />
    </div>
  );
}

function parsed(text: string): unknown {
  try {
    const found: unknown = JSON.parse(text);
    return typeof found === "object" ? found : undefined;
  } catch {
    return undefined;
  }
}

function Node({ value, name, depth }: { value: unknown; name?: string; depth: number }) {
  const label =
    name === undefined ? null : (
      <>
        <span className="key">{name}</span>:{" "}
      </>
    );
  if (typeof value !== "object" || value === null) {
    const kind = typeof value === "string" ? "text" : "number";
    return (
      <div>
        {label}
        <span className={kind}>{JSON.stringify(value)}</span>
      </div>
    );
  }
  const entries = Array.isArray(value)
    ? value.map((each, place) => [String(place), each] as const)
    : Object.entries(value);
  const [open, close] = Array.isArray(value) ? ["[", "]"] : ["{", "}"];
  if (!entries.length)
    return (
      <div>
        {label}
        {open}
        {close}
      </div>
    );
  return (
    <details open={depth < 2}>
      <summary>
        {label}
        {open} <span className="quiet">{entries.length}</span> {close}
      </summary>
      <div className="inner">
        {entries.slice(0, CHILDREN_MAX).map(([key, each]) => (
          <Node key={key} name={key} value={each} depth={depth + 1} />
        ))}
        {entries.length > CHILDREN_MAX && (
          <div className="quiet">… and {entries.length - CHILDREN_MAX} more; the text has them all</div>
        )}
      </div>
    </details>
  );
}

function Picture({ runId }: { runId: string }) {
  const bytes = useQuery({ queryKey: ["runs", "bytes", runId], queryFn: () => fetchBytes(runId), staleTime: Infinity });
  const [address, setAddress] = useState("");
  const type = bytes.data ? pictureType(bytes.data) : null;
  useEffect(() => {
    if (!bytes.data || !type) return;
    const made = URL.createObjectURL(new Blob([bytes.data as BlobPart], { type }));
    setAddress(made);
    return () => URL.revokeObjectURL(made);
  }, [bytes.data, type]);
  if (bytes.error) return <Failed fault={bytes.error} retry={() => void bytes.refetch()} />;
  if (bytes.data && !type) return <Hex runId={runId} />;
  return address ? (
    <img src={address} alt="The response body" className="body-picture" />
  ) : (
    <Text size="sm" c="dimmed">
      Reading…
    </Text>
  );
}

function Hex({ runId }: { runId: string }) {
  const bytes = useQuery({ queryKey: ["runs", "bytes", runId], queryFn: () => fetchBytes(runId), staleTime: Infinity });
  if (bytes.error) return <Failed fault={bytes.error} retry={() => void bytes.refetch()} />;
  if (!bytes.data)
    return (
      <Text size="sm" c="dimmed">
        Reading…
      </Text>
    );
  return (
    <>
      <pre className="raw hex" tabIndex={0} aria-label="Body in hex">
        {hexDump(bytes.data.subarray(0, HEX_MAX))}
      </pre>
      {bytes.data.length > HEX_MAX && (
        <Text size="xs" c="dimmed">
          The first {HEX_MAX.toLocaleString()} bytes; save the body for the rest.
        </Text>
      )}
    </>
  );
}

async function fetchBytes(runId: string): Promise<Uint8Array> {
  const response = await fetch(`/api/v1/runs/${encodeURIComponent(runId)}/body/raw`, { headers: tenantHeader() });
  if (!response.ok)
    throw new Problem(
      response.status,
      "Body not available",
      "The body may have been removed: bodies have a shorter retention period than runs.",
    );
  return new Uint8Array(await response.arrayBuffer());
}
