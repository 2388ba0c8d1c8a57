import styles from './CutMiddle.module.css'

/** Number of characters at the end of a name that stay visible when its middle is cut. */
const TAIL_CHARS = 8
/** Font size of names in lists, in pixels. */
const FONT_PX = 14

const ASCII = /^[ -~]*$/
const segments = new Intl.Segmenter()

let context: CanvasRenderingContext2D | undefined

/** Width in pixels of a text in one line, in the font of names in lists. */
export function nameWidth(text: string): number {
  if (!context) {
    context = document.createElement('canvas').getContext('2d')!
    context.font = `500 ${FONT_PX}px ${getComputedStyle(document.body).fontFamily}`
  }
  return Math.ceil(context.measureText(text).width)
}

/**
 * A name on one line. If it is too long, an ellipsis replaces its middle, because names of a fleet differ at their ends. The whole text is in
 * the document, so that it can be copied as one line. A link around it needs the name as its `aria-label`, because screen readers would
 * put a space between the two parts.
 */
export function CutMiddle({ text }: { text: string }) {
  // Characters as people see them: an emoji may consist of several.
  const chars = ASCII.test(text) ? [...text] : Array.from(segments.segment(text), ({ segment }) => segment)
  if (chars.length <= 2 * TAIL_CHARS) return text
  const tail = chars.slice(-TAIL_CHARS).join('')
  return (
    <span className={styles.name} dir="auto" data-cut>
      <span className="truncated" style={{ maxWidth: `calc(100% - ${(nameWidth(tail) + 2) / FONT_PX}em)` }}>
        {chars.slice(0, -TAIL_CHARS).join('')}
      </span>
      {tail}
    </span>
  )
}
