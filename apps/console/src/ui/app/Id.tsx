import { CopyButton } from '../CopyButton.tsx'
import styles from './Id.module.css'

type IdProps = {
  id: string
  /** Name of the id in the label of the copy button, for example "device id". */
  what: string
  /** Allows two lines, for tables with many columns. */
  wrap?: boolean
  /** Takes most of the table's width, for digests, which are longer than ids. Their middle is cut. */
  wide?: boolean
  /** Shows all characters, on several lines if necessary. */
  whole?: boolean
  /** For lists: shows an ellipsis instead of the middle characters if the column is too narrow. The tooltip shows the whole id. */
  cutMiddle?: boolean
}

/** Number of characters at the end of an id that stay visible when its middle is cut. */
const TAIL_CHARS = 6

/** An identifier in the monospace font with its copy button. */
export function Id({ id, what, wrap = false, wide = false, whole = false, cutMiddle = false }: IdProps) {
  const middle = Math.ceil(id.length / 2)
  if (cutMiddle)
    return (
      <span className={`copyable mono ${styles.middle}`}>
        {/* Inline boxes, so that a copied selection is one line. */}
        <span className={styles.text} title={id}>
          <span className="truncated">{id.slice(0, -TAIL_CHARS)}</span>
          {id.slice(-TAIL_CHARS)}
        </span>
        <CopyButton text={id} label={`Copy ${what}`} />
      </span>
    )
  return (
    <span
      className={`copyable mono ${wrap ? styles.twoLines : ''} ${wide ? styles.wide : ''} ${whole ? styles.whole : ''}`}
    >
      <span className={styles.text} title={wide ? id : undefined}>
        {/* The only line break is in the middle, so that the second line never holds a single character. */}
        {wide ? (
          <>
            <span className="truncated">{id.slice(0, -TAIL_CHARS)}</span>
            {id.slice(-TAIL_CHARS)}
          </>
        ) : (
          <>
            {id.slice(0, middle)}
            <wbr />
            {id.slice(middle)}
          </>
        )}
      </span>
      <CopyButton text={id} label={`Copy ${what}`} />
    </span>
  )
}
