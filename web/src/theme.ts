import { Badge, Button, Card, createTheme, Drawer, Modal, Notification, Tooltip } from "@mantine/core";

// Dialogs do not lock the scrolling of what is behind them: that is a new style for every element of the page (and
// `styles.css` contains it).
export const theme = createTheme({
  primaryColor: "cyan",
  primaryShade: 9,
  autoContrast: true,
  defaultRadius: "md",
  fontFamily: 'Inter, system-ui, -apple-system, "Segoe UI", Roboto, "Helvetica Neue", Arial, sans-serif',
  fontFamilyMonospace: 'ui-monospace, "SF Mono", "Cascadia Code", Menlo, Consolas, "DejaVu Sans Mono", monospace',
  headings: {
    fontWeight: "650",
    sizes: { h1: { fontSize: "1.5rem" }, h2: { fontSize: "1.1rem" }, h3: { fontSize: "0.95rem" } },
  },
  cursorType: "pointer",
  respectReducedMotion: true,
  components: {
    Badge: Badge.extend({ defaultProps: { variant: "light", radius: "xl", tt: "none", fw: 600 } }),
    Button: Button.extend({ defaultProps: { size: "sm" } }),
    Card: Card.extend({ defaultProps: { withBorder: true, padding: "md" } }),
    Drawer: Drawer.extend({ defaultProps: { lockScroll: false, closeButtonProps: { "aria-label": "Close" } } }),
    Modal: Modal.extend({
      defaultProps: {
        centered: true,
        lockScroll: false,
        transitionProps: { duration: 120 },
        closeButtonProps: { "aria-label": "Close" },
      },
    }),
    Notification: Notification.extend({ defaultProps: { closeButtonProps: { "aria-label": "Close" } } }),
    Tooltip: Tooltip.extend({ defaultProps: { openDelay: 250, multiline: true, maw: 360, withArrow: true } }),
  },
});
