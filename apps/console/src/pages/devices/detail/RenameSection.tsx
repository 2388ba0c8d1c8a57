import { type FormEvent, useState } from 'react'
import formStyles from '../../../form/form.module.css'
import { focusHeading } from '../../../lib/focus-heading.ts'
import { Section } from '../../../ui/app/Section.tsx'
import { toast } from '../../../ui/app/toast.ts'
import { Button } from '../../../ui/Button.tsx'
import { messageOf } from '../../../ui/ErrorText.tsx'
import { SaveBar } from '../../../ui/lazy/SaveBar.tsx'
import { TextField } from '../../../ui/TextField.tsx'
import { useRename } from '../use-rename.ts'
import shared from './sections.module.css'

/** Form that sets or removes the name of a device. The form is cleared after saving (docs/specification.md 5). */
export function RenameSection({ deviceId }: { deviceId: string }) {
  const [name, setName] = useState('')
  const rename = useRename()

  async function save(event: FormEvent) {
    event.preventDefault()
    if (rename.isPending) return
    const newName = name.trim()
    try {
      await rename.mutateAsync({ deviceId, name: newName })
    } catch {
      return // The field shows the error.
    }
    setName('')
    // Moves the focus to the heading: a second Enter in the empty field would remove the name again.
    focusHeading()
    toast(newName ? `Device renamed to ${newName}.` : 'Name removed.')
  }

  return (
    <Section id="name" className={shared.filled} title="Rename Device" padded={false}>
      <form onSubmit={save}>
        <div className={formStyles.fields}>
          <TextField
            label="Name"
            value={name}
            onChange={value => {
              setName(value)
              rename.reset()
            }}
            placeholder="New name"
            help="Empty removes the name."
            error={rename.error ? messageOf(rename.error) : undefined}
          />
        </div>
        <SaveBar>
          <Button type="submit" busy={rename.isPending} busyLabel="Saving…">
            Save
          </Button>
        </SaveBar>
      </form>
    </Section>
  )
}
