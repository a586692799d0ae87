import "@mantine/core/styles.css";
import "@mantine/notifications/styles.css";
import "./styles.css";
import { MantineProvider } from "@mantine/core";
import { Notifications } from "@mantine/notifications";
import { QueryClient, QueryClientProvider } from "@tanstack/react-query";
import { RouterProvider } from "@tanstack/react-router";
import { StrictMode } from "react";
import { createRoot } from "react-dom/client";
import { Problem } from "./api/client";
import { watchReach } from "./api/reach";
import { makeRouter, prefetch } from "./router";
import { theme } from "./theme";
import { TimeModeProvider } from "./time/When";

const PATIENCE_MS = 400;
// A machine without a network still reaches a server on it; and a click that waits for one would act when nobody
// expects it.
const networkMode = "always";
const client = new QueryClient({
  defaultOptions: {
    mutations: { networkMode },
    queries: {
      networkMode,
      staleTime: 15_000, // events make things old sooner; this is for when there are none
      gcTime: 300_000,
      refetchOnWindowFocus: false,
      retryDelay: (count) => 250 * 2 ** count, // a failure is said within a second
      retry: (count, fault) => count < 2 && !(fault instanceof Problem && fault.status >= 400 && fault.status < 500),
    },
  },
});
watchReach();
const router = makeRouter(client);
prefetch(router);
// The frame of the document stays until the page can take its place; where that takes long, the page says so itself.
await Promise.race([router.load(), new Promise((resolve) => setTimeout(resolve, PATIENCE_MS))]);

const place = document.getElementById("root");
if (!place) throw new Error("index.html has no element with the id root");
createRoot(place).render(
  <StrictMode>
    <MantineProvider theme={theme} defaultColorScheme="auto">
      <QueryClientProvider client={client}>
        <TimeModeProvider>
          <Notifications position="bottom-right" autoClose={5000} />
          <RouterProvider router={router} />
        </TimeModeProvider>
      </QueryClientProvider>
    </MantineProvider>
  </StrictMode>,
);
