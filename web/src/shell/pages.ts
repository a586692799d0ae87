import {
  IconActivity,
  IconApi,
  IconBulb,
  IconHierarchy2,
  IconHistory,
  IconLayoutDashboard,
  IconRoute,
  IconSettings,
  IconStack2,
  IconTestPipe,
} from "@tabler/icons-react";

export const PAGES = [
  {
    to: "/",
    label: "Overview",
    icon: IconLayoutDashboard,
    key: "g o",
    about: "Running, failing and upcoming runs",
  },
  { to: "/endpoints", label: "Endpoints", icon: IconApi, key: "g e", about: "URLs and their schedules" },
  { to: "/jobs", label: "Jobs", icon: IconStack2, key: "g j", about: "Groups of endpoints" },
  { to: "/runs", label: "Runs", icon: IconHistory, key: "g r", about: "Run history" },
  { to: "/events", label: "Events", icon: IconActivity, key: "g v", about: "Changes and who made them" },
  { to: "/workflows", label: "Workflows", icon: IconHierarchy2, key: "g w", about: "Multi-step processes" },
  { to: "/executions", label: "Executions", icon: IconRoute, key: "g x", about: "Runs of workflows" },
  {
    to: "/planner",
    label: "Planner",
    icon: IconBulb,
    key: "g p",
    about: "Rules, proposals, model sessions and cost",
  },
  {
    to: "/simulation",
    label: "Simulation",
    icon: IconTestPipe,
    key: "g m",
    about: "Scenarios on a simulated clock",
  },
  {
    to: "/settings",
    label: "Settings",
    icon: IconSettings,
    key: "g s",
    about: "Alerts, webhooks, keys, members, usage, appearance",
  },
] as const;
