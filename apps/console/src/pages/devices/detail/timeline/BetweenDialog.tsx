import { type FormEvent, useState } from 'react'
import { Dialog, DialogBody, DialogFoot } from '../../../../ui/app/Dialog.tsx'
import { Button } from '../../../../ui/Button.tsx'
import { TextField } from '../../../../ui/TextField.tsx'
import { localTime } from './time-range.ts'

type BetweenDialogProps = {
  from: string
  to: string
  onChange: (from: string, to: string) => void
  onClose: () => void
}

/** Dialog for a time range from one date and time to another. An empty field means no limit. */
export function BetweenDialog({ onChange, onClose, ...initial }: BetweenDialogProps) {
  const [from, setFrom] = useState(initial.from)
  const [to, setTo] = useState(initial.to)
  const [error, setError] = useState<string>()

  function submit(event: FormEvent) {
    event.preventDefault()
    const [begin, end] = [localTime(from), localTime(to)]
    if (!begin && !end) setError('Please enter a day with a time of day.')
    else if (begin && end && begin >= end) setError('The end must be after the beginning.')
    else {
      onChange(from, to)
      onClose()
    }
  }
  return (
    <Dialog title="Between" onClose={onClose}>
      <form onSubmit={submit}>
        <DialogBody>
          <TextField type="datetime-local" label="From" value={from} onChange={setFrom} />
          <TextField type="datetime-local" label="To" value={to} onChange={setTo} error={error} />
          <p className="help">Times are local.</p>
        </DialogBody>
        <DialogFoot>
          <Button onClick={onClose}>Cancel</Button>
          <Button type="submit" variant="primary">
            Show
          </Button>
        </DialogFoot>
      </form>
    </Dialog>
  )
}
