/** Links that look like the parts of Mantine and know every address of the UI: a wrong parameter does not compile. */
import { Anchor, Button, Card, Menu, NavLink } from "@mantine/core";
import { createLink } from "@tanstack/react-router";

export const AnchorLink = createLink(Anchor<"a">);
export const ButtonLink = createLink(Button<"a">);
export const CardLink = createLink(Card<"a">);
export const MenuItemLink = createLink(Menu.Item<"a">);
export const NavLinkLink = createLink(NavLink<"a">);
