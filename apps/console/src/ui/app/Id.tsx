import { CopyButton } from '../CopyButton.tsx'

type IdProps = {
  id: string
  /** Name of the id in the label of the copy button, for example "device id". */
  what: string
  /** Allows two lines, for tables with many columns. */
  wrap?: boolean
  /** Takes most of the table's width, for digests, which are longer than ids. */
  wide?: boolean
}

/** An identifier in the monospace font with its copy button. */
export function Id({ id, what, wrap = false, wide = false }: IdProps) {
  const middle = Math.ceil(id.length / 2)
  return (
    <span className={`idc mono${wrap ? ' two-lines' : ''}${wide ? ' wide-id' : ''}`}>
      <span className="idt">
        {/* The only line break is in the middle, so that the second line never holds a single character. */}
        {wide ? (
          id
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
