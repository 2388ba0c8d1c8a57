/** Maximum number of stored widths. A list shows a few hundred different texts. */
const MAX_STORED = 5_000

const stored = new Map<string, number>()
let context: CanvasRenderingContext2D | null | undefined

/** Width in pixels of one line of text. `font` is a CSS `font` value with the family as a name, for example `500 14px sans-serif`. */
export function textWidth(text: string, font: string): number {
  const key = `${font}\n${text}`
  const known = stored.get(key)
  if (known !== undefined) return known
  context ??= document.createElement('canvas').getContext('2d')
  if (!context) return 0
  context.font = font
  const widthPx = context.measureText(text).width
  // Before the font of the page has loaded, the width is that of another font and is not stored.
  if (!document.fonts.check(font)) return widthPx
  if (stored.size >= MAX_STORED) stored.clear()
  stored.set(key, widthPx)
  return widthPx
}

/** The value of a CSS variable with a font family, such as `--sans`. */
export function fontFamily(variable: string): string {
  return getComputedStyle(document.documentElement).getPropertyValue(variable).trim() || 'sans-serif'
}
