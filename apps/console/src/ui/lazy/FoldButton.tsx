import { ChevronRight } from 'lucide-react'

type FoldButtonProps = {
  /** Accessible name, for example "Details of audit_ev_…". */
  label: string
  isOpen: boolean
  onChange: (isOpen: boolean) => void
}

/** A small arrow that unfolds the details of a row. */
export function FoldButton({ label, isOpen, onChange }: FoldButtonProps) {
  return (
    <button
      type="button"
      className="copy"
      data-fold
      aria-label={label}
      aria-expanded={isOpen}
      onClick={() => onChange(!isOpen)}
    >
      <ChevronRight className="icon small-icon" aria-hidden />
    </button>
  )
}
