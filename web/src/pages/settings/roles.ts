export type Role = "viewer" | "operator" | "owner";
export const ROLES: { value: Role; label: string }[] = [
  { value: "viewer", label: "viewer: looks" },
  { value: "operator", label: "operator: runs and changes" },
  { value: "owner", label: "owner: everything" },
];
