/** The kind of an endpoint, and the fields of kinds other than `http`, drawn from their description. */
import { Select, SimpleGrid, Switch, Textarea, TextInput } from "@mantine/core";
import type { Kind, KindField } from "../../api/types";
import { type Draft, describedFields, labelOf } from "./draft";
import { MONO } from "./Sections";

type InputProps = {
  kinds: Kind[];
  kind: Kind | undefined;
  set: (change: Partial<Draft>) => void;
  error: string | undefined;
};

export function KindInput({ kinds, kind, set, error }: InputProps) {
  return (
    <Select
      label="Kind"
      description={kind?.about}
      data={kinds.map((each) => each.name)}
      value={kind?.name ?? null}
      allowDeselect={false}
      onChange={(name) => set({ kind: name ?? "http" })}
      error={error}
      maw={320}
      data-field="kind"
    />
  );
}

type FieldsProps = {
  kind: Kind | undefined;
  draft: Draft;
  set: (change: Partial<Draft>) => void;
  of: (field: string) => string | undefined;
};

export function KindFields({ kind, draft, set, of }: FieldsProps) {
  const put = (key: string, value: string | boolean) => set({ call: { ...draft.call, [key]: value } });
  return (
    <SimpleGrid cols={{ base: 1, xs: 2 }}>
      {describedFields(kind).map((field) => (
        <KindControl key={field.key} field={field} value={draft.call[field.key]} put={put} error={of(field.key)} />
      ))}
    </SimpleGrid>
  );
}

type ControlProps = {
  field: KindField;
  value: string | boolean | undefined;
  put: (key: string, value: string | boolean) => void;
  error: string | undefined;
};

function KindControl({ field, value, put, error }: ControlProps) {
  const shared = { label: labelOf(field.key), description: field.about, error, "data-field": field.key };
  const text = typeof value === "string" ? value : "";
  const onChange = (event: { currentTarget: { value: string } }) => put(field.key, event.currentTarget.value);
  const placeholder = field.default || field.examples[0];
  if (field.type === "switch") {
    const isOn = typeof value === "boolean" ? value : field.default === "true";
    return <Switch {...shared} checked={isOn} onChange={(event) => put(field.key, event.currentTarget.checked)} />;
  }
  if (field.type === "choice") {
    return (
      <Select
        {...shared}
        data={field.choices}
        value={text || field.default || null}
        allowDeselect={false}
        onChange={(choice) => put(field.key, choice ?? "")}
      />
    );
  }
  if (["texts", "choices", "numbers"].includes(field.type)) {
    const description = `${field.about} One in each line.`;
    return (
      <Textarea
        {...shared}
        required={field.required}
        description={description}
        autosize
        value={text}
        onChange={onChange}
        styles={MONO}
      />
    );
  }
  return (
    <TextInput
      {...shared}
      required={field.required}
      value={text}
      onChange={onChange}
      placeholder={placeholder}
      inputMode={field.type === "number" ? "numeric" : undefined}
    />
  );
}
