import { expect, test } from "vitest";
import { isBinary, pictureType } from "./bytes";

const bytes = (...some: (number | string)[]) =>
  new Uint8Array(
    some.flatMap((each) => (typeof each === "string" ? [...each].map((one) => one.charCodeAt(0)) : [each])),
  );

test("only raster pictures are pictures, by their first bytes", () => {
  expect(pictureType(bytes(0x89, "PNG\r\n", 0x1a, "\n"))).toBe("image/png");
  expect(pictureType(bytes(0xff, 0xd8, 0xff, 0xe0))).toBe("image/jpeg");
  expect(pictureType(bytes("GIF89a"))).toBe("image/gif");
  expect(pictureType(bytes("RIFF", 0, 0, 0, 0, "WEBP"))).toBe("image/webp");
  expect(pictureType(bytes("<svg xmlns='http://www.w3.org/2000/svg'>"))).toBeNull();
  expect(pictureType(bytes("<html><script>"))).toBeNull();
});

test("text with a strange character is text, bytes that cannot be read are not", () => {
  expect(isBinary('{"ok": true}')).toBe(false);
  expect(isBinary(`${"plain words ".repeat(20)}\ufffd`)).toBe(false);
  expect(isBinary("\ufffdPNG\\x1a\ufffd\ufffd\\x00")).toBe(true);
});
