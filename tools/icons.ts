// Draws the icons of the installed console from its logo in favicon.svg: `node tools/icons.ts` writes apps/console/public/*.png.
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { crc32, deflateSync } from 'node:zlib'

/** A rectangle with round corners. Its coordinates are in the 26 × 26 units of the logo in favicon.svg. Colours are RGB with an opacity. */
type Shape = {
  x: number
  y: number
  width: number
  height: number
  radius: number
  colour: Colour
  opacity?: number
}
type Colour = readonly [red: number, green: number, blue: number]

const UNITS = 26
const INK: Colour = [0x17, 0x1c, 0x24]
const PAPER: Colour = [0xfa, 0xf9, 0xf6]
const GREEN: Colour = [0x48, 0xc3, 0x77]
const TICKS: Shape[] = [
  { x: 6, y: 6, width: 3, height: 14, radius: 1, colour: PAPER },
  { x: 11.5, y: 15, width: 3, height: 5, radius: 1, colour: PAPER, opacity: 0.55 },
  { x: 17, y: 6, width: 3, height: 14, radius: 1, colour: GREEN },
]
/** Number of samples per pixel in each direction, for anti-aliasing. */
const SAMPLES = 4

const FOLDER = join(import.meta.dirname, '../apps/console/public')

/** The icons. Systems cut maskable icons and the iOS icon to their own shape, so these two have no round corners. */
const ICONS = [
  { name: 'icon-192.png', pixels: 192, radius: 6, scale: 1 },
  { name: 'icon-512.png', pixels: 512, radius: 6, scale: 1 },
  // The outer fifth of a maskable icon may be cut off.
  { name: 'icon-maskable-512.png', pixels: 512, radius: 0, scale: 0.8 },
  { name: 'apple-touch-icon.png', pixels: 180, radius: 0, scale: 0.9 },
]

for (const { name, pixels, radius, scale } of ICONS) {
  const ground: Shape = { x: 0, y: 0, width: UNITS, height: UNITS, radius, colour: INK }
  writeFileSync(
    join(FOLDER, name),
    png(pixels, draw(pixels, [ground, ...TICKS.map(tick => scaled(tick, scale))])),
  )
}

/** Returns the shape, made smaller around the centre of the logo. */
function scaled(shape: Shape, by: number): Shape {
  const middle = UNITS / 2
  const { x, y, width, height, radius } = shape
  return {
    ...shape,
    x: middle + (x - middle) * by,
    y: middle + (y - middle) * by,
    width: width * by,
    height: height * by,
    radius: radius * by,
  }
}

/** The pixels of a square image as RGBA rows. */
function draw(pixels: number, shapes: Shape[]): Buffer {
  const data = Buffer.alloc(pixels * pixels * 4)
  for (let row = 0; row < pixels; row++) {
    for (let column = 0; column < pixels; column++) {
      const [red, green, blue, alpha] = colourOf(shapes, share => shareOfPixel(share, row, column, pixels))
      data.set([red, green, blue, alpha], (row * pixels + column) * 4)
    }
  }
  return data
}

function colourOf(shapes: Shape[], shareOf: (shape: Shape) => number): [number, number, number, number] {
  let colour: [number, number, number] = [0, 0, 0]
  let alpha = 0
  for (const shape of shapes) {
    const over = shareOf(shape) * (shape.opacity ?? 1)
    const next = over + alpha * (1 - over)
    if (next > 0)
      colour = colour.map(
        (value, at) => (shape.colour[at]! * over + value * alpha * (1 - over)) / next,
      ) as typeof colour
    alpha = next
  }
  return [...(colour.map(Math.round) as typeof colour), Math.round(alpha * 255)]
}

/** The share of a pixel that a shape covers, 0 to 1. */
function shareOfPixel(shape: Shape, row: number, column: number, pixels: number): number {
  let inside = 0
  for (let y = 0; y < SAMPLES; y++)
    for (let x = 0; x < SAMPLES; x++)
      if (
        contains(
          shape,
          ((column + (x + 0.5) / SAMPLES) * UNITS) / pixels,
          ((row + (y + 0.5) / SAMPLES) * UNITS) / pixels,
        )
      )
        inside++
  return inside / (SAMPLES * SAMPLES)
}

function contains({ x, y, width, height, radius }: Shape, atX: number, atY: number): boolean {
  // Distance to the rectangle that lies `radius` inside of the shape.
  const dx = Math.max(x + radius - atX, atX - (x + width - radius), 0)
  const dy = Math.max(y + radius - atY, atY - (y + height - radius), 0)
  return radius === 0
    ? atX >= x && atX < x + width && atY >= y && atY < y + height
    : dx * dx + dy * dy <= radius * radius
}

/** A PNG file of RGBA pixels (PNG specification, 5 and 11). */
function png(pixels: number, rgba: Buffer): Buffer {
  const header = Buffer.alloc(13)
  header.writeUInt32BE(pixels, 0)
  header.writeUInt32BE(pixels, 4)
  // Bit depth 8, colour type 6 (RGB with alpha).
  header.set([8, 6], 8)
  const rows = Buffer.alloc(pixels * (pixels * 4 + 1))
  // Each row begins with its filter, 0 for none.
  for (let row = 0; row < pixels; row++)
    rgba.copy(rows, row * (pixels * 4 + 1) + 1, row * pixels * 4, (row + 1) * pixels * 4)
  return Buffer.concat([
    Buffer.from([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a]),
    chunk('IHDR', header),
    chunk('IDAT', deflateSync(rows, { level: 9 })),
    chunk('IEND', Buffer.alloc(0)),
  ])
}

function chunk(type: string, data: Buffer): Buffer {
  const body = Buffer.concat([Buffer.from(type, 'latin1'), data])
  const length = Buffer.alloc(4)
  length.writeUInt32BE(data.length)
  const sum = Buffer.alloc(4)
  sum.writeUInt32BE(crc32(body))
  return Buffer.concat([length, body, sum])
}
