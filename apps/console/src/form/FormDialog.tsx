import { type AnyFormApi, useStore } from '@tanstack/react-form'
import type { ReactNode } from 'react'
import { Dialog, DialogBody, DialogFoot } from '../ui/app/Dialog.tsx'
import { Button } from '../ui/Button.tsx'
import { submitForm } from './form.ts'
import { SubmitButton } from './SubmitButton.tsx'

type FormDialogProps = {
  title: string
  /** A form of `useTextForm`. */
  form: Pick<AnyFormApi, 'store' | 'handleSubmit'>
  /** Text of the submit button. */
  submit: string
  /** Text of the submit button while the form is being sent, for example "Creating…". */
  busyLabel: string
  onClose: () => void
  /** Error messages and fields. */
  children: ReactNode
}

/** A dialog with a form. It cannot be closed while the form is being sent, and after input only by its buttons. */
export function FormDialog({ title, form, submit, busyLabel, onClose, children }: FormDialogProps) {
  const { isSubmitting, isDirty } = useStore(form.store)
  return (
    <Dialog title={title} busy={isSubmitting} dirty={isDirty} onClose={onClose}>
      <form noValidate onSubmit={event => void submitForm(event, form)}>
        <DialogBody>{children}</DialogBody>
        <DialogFoot>
          <Button disabled={isSubmitting} onClick={onClose}>
            Cancel
          </Button>
          <SubmitButton form={form} busyLabel={busyLabel}>
            {submit}
          </SubmitButton>
        </DialogFoot>
      </form>
    </Dialog>
  )
}
