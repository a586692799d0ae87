import react from "@vitejs/plugin-react";
import { defineConfig } from "vite";

// `npm run dev` shows the sources at once and asks a server that runs beside it for everything else.
const server = process.env.MAINSPRING_SERVER ?? "http://127.0.0.1:8080";

export default defineConfig({
  plugins: [react()],
  build: {
    target: "es2022",
    assetsInlineLimit: 0, // the page's policy lets nothing be inlined
    modulePreload: { polyfill: false },
    chunkSizeWarningLimit: 1000,
  },
  server: { proxy: { "/api": { target: server }, "/problems": { target: server } } },
});
