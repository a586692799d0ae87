/** Links that look like the parts of Mantine and know every address of the UI: a wrong parameter does not compile. */
import {
  Anchor,
  Button,
  type ButtonProps,
  Card,
  type CardProps,
  Menu,
  type MenuItemProps,
  NavLink,
} from "@mantine/core";
import { createLink } from "@tanstack/react-router";
import type { ComponentPropsWithRef } from "react";

type AnchorElement = Omit<ComponentPropsWithRef<"a">, "color" | "style">;

export const AnchorLink = createLink(Anchor<"a">);
export const NavigationLink = createLink(NavLink<"a">);
export const ButtonLink = createLink((props: ButtonProps & AnchorElement) => <Button component="a" {...props} />);
export const CardLink = createLink((props: CardProps & AnchorElement) => <Card component="a" {...props} />);
export const MenuItemLink = createLink((props: MenuItemProps & AnchorElement) => (
  <Menu.Item component="a" {...props} />
));
