import { fontFamily, textWidth } from '../../lib/app/text-width.ts'

/** Number of characters at the end of a name that stay visible when its middle is cut. */
const TAIL_CHARS = 8
/** Names up to this length fit beside their tail in every column, so they are cut at their end only. */
const SHORT_CHARS = 16

/**
 * A name on one line. If it is too long, its middle is replaced by an ellipsis, because names of a fleet differ at their ends. The whole
 * text is in the document, so that it can be copied as one line. A link around it needs the name as its `aria-label`, because screen
 * readers would put a space between the two parts.
 */
export function CutMiddle({ text }: { text: string }) {
  const chars = [...text]
  if (chars.length <= SHORT_CHARS) return text
  const tail = chars.slice(-TAIL_CHARS).join('')
  const tailPx = Math.ceil(textWidth(tail, `500 14px ${fontFamily('--sans')}`)) + 2
  return (
    <span className="cutm">
      {/* Inline boxes, so that a copied selection is one line. */}
      <span className="cuth" style={{ maxWidth: `calc(100% - ${tailPx}px)` }}>
        {chars.slice(0, -TAIL_CHARS).join('')}
      </span>
      <span>{tail}</span>
    </span>
  )
}
