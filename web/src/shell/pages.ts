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
    about: "What runs, fails, adapts and comes next",
  },
  { to: "/endpoints", label: "Endpoints", icon: IconApi, key: "g e", about: "What is called, and when" },
  { to: "/jobs", label: "Jobs", icon: IconStack2, key: "g j", about: "Groups of endpoints" },
  { to: "/runs", label: "Runs", icon: IconHistory, key: "g r", about: "What happened" },
  { to: "/events", label: "Events", icon: IconActivity, key: "g v", about: "What changed, by whom" },
  { to: "/workflows", label: "Workflows", icon: IconHierarchy2, key: "g w", about: "Work in several steps" },
  { to: "/executions", label: "Executions", icon: IconRoute, key: "g x", about: "Workflows under way" },
  {
    to: "/planner",
    label: "Planner",
    icon: IconBulb,
    key: "g p",
    about: "Rules, sessions, spend, and the switch that stops it",
  },
  {
    to: "/simulation",
    label: "Simulation",
    icon: IconTestPipe,
    key: "g m",
    about: "What would happen, on a simulated clock",
  },
  {
    to: "/settings",
    label: "Settings",
    icon: IconSettings,
    key: "g s",
    about: "Alerts, webhooks, keys, members, usage, appearance",
  },
] as const;
