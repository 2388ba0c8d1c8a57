import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'

const tokens = readFileSync(join(import.meta.dirname, 'tokens.css'), 'utf8')

const THEMES = {
  light: tokensIn(':root {'),
  dark: { ...tokensIn(':root {'), ...tokensIn(':root[data-theme="dark"] {') },
}

const SURFACES = ['canvas', 'surface', 'surface-2', 'surface-hover', 'surface-raised']

/**
 * Foreground, background and minimum contrast ratio (WCAG 2.2). The ratio of 7 for body text is stricter than WCAG's
 * level AA.
 */
const PAIRS: [string, string, number][] = [
  ...SURFACES.flatMap((surface): [string, string, number][] => [
    ['text', surface, 7],
    ['text-2', surface, 4.5],
    ['text-3', surface, 4.5],
    ['accent-text', surface, 4.5],
  ]),
  ['text', 'accent-tint', 4.5],
  ['accent-text', 'accent-tint', 4.5],
  ...['ok', 'warn', 'bad'].flatMap((tone): [string, string, number][] => [
    [`${tone}-text`, `${tone}-tint`, 4.5],
    [`${tone}-text`, 'surface', 4.5],
    ['text', `${tone}-tint`, 4.5],
    ['text-2', `${tone}-tint`, 4.5],
  ]),
  ['bad-text', 'canvas', 4.5],
  ['warn-text', 'canvas', 4.5],
  ['on-accent', 'accent', 4.5],
  ['on-accent', 'accent-hover', 4.5],
  ['canvas', 'text', 4.5],
  ...['surface', 'canvas', 'surface-2', 'surface-raised'].flatMap((surface): [string, string, number][] => [
    ['line-control', surface, 3],
    ['focus', surface, 3],
  ]),
  ['accent', 'surface', 3],
  ['accent', 'canvas', 3],
  ['bad', 'surface', 3],
  ['ok', 'surface', 3],
  ['ok', 'canvas', 3],
  ['ok', 'ok-tint', 3],
  ['warn', 'surface', 3],
  ['warn', 'warn-tint', 3],
  ['off', 'surface', 3],
  ['off', 'surface-2', 3],
  ['ink-text', 'ink', 7],
  ['ink-text-2', 'ink', 4.5],
  ['ink-text-3', 'ink', 4.5],
]

describe.each(['light', 'dark'] as const)('%s', theme => {
  it.each(PAIRS)('%s on %s reaches %d', (foreground, background, least) => {
    expect(contrast(THEMES[theme][foreground], THEMES[theme][background])).toBeGreaterThanOrEqual(least)
  })
})

it('gives both themes the same colours', () => {
  const light = Object.keys(tokensIn(':root {')).filter(name => !name.startsWith('ink'))
  expect(Object.keys(tokensIn(':root[data-theme="dark"] {'))).toEqual(light)
})

type Oklch = [lightness: number, chroma: number, hue: number]

function tokensIn(opening: string): Record<string, Oklch> {
  const block = tokens.split(opening)[1]?.split('\n}')[0] ?? ''
  const colours = block.matchAll(/--([\w-]+): oklch\(([\d.]+) ([\d.]+) ([\d.]+)\);/g)
  return Object.fromEntries(
    [...colours].map(([, name, l, c, h]) => [name, [Number(l), Number(c), Number(h)]]),
  )
}

function contrast(a: Oklch | undefined, b: Oklch | undefined): number {
  const [brighter, darker] = [luminance(a), luminance(b)].sort((x, y) => y - x)
  return (brighter! + 0.05) / (darker! + 0.05)
}

/** Relative luminance (WCAG) of a colour, converted to linear sRGB and clipped to its gamut. */
function luminance(colour: Oklch | undefined): number {
  if (!colour) throw new Error('no such token')
  const [lightness, chroma, hue] = colour
  const a = chroma * Math.cos((hue * Math.PI) / 180)
  const b = chroma * Math.sin((hue * Math.PI) / 180)
  const l = (lightness + 0.3963377774 * a + 0.2158037573 * b) ** 3
  const m = (lightness - 0.1055613458 * a - 0.0638541728 * b) ** 3
  const s = (lightness - 0.0894841775 * a - 1.291485548 * b) ** 3
  const red = 4.0767416621 * l - 3.3077115913 * m + 0.2309699292 * s
  const green = -1.2684380046 * l + 2.6097574011 * m - 0.3413193965 * s
  const blue = -0.0041960863 * l - 0.7034186147 * m + 1.707614701 * s
  const cut = (value: number) => Math.min(1, Math.max(0, value))
  return 0.2126 * cut(red) + 0.7152 * cut(green) + 0.0722 * cut(blue)
}
