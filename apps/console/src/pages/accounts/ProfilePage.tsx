import { useCommand } from '../../api/queries.ts'
import formStyles from '../../form/form.module.css'
import { bindText, submitForm, useTextForm } from '../../form/form.ts'
import { SubmitButton } from '../../form/SubmitButton.tsx'
import { useSession } from '../../session.ts'
import { ErrorAlert } from '../../ui/Alert.tsx'
import { Id } from '../../ui/app/Id.tsx'
import { Page, PageHead } from '../../ui/app/Page.tsx'
import { Section } from '../../ui/app/Section.tsx'
import { toast } from '../../ui/app/toast.ts'
import { Fact, FactList } from '../../ui/lazy/FactList.tsx'
import { SaveBar } from '../../ui/lazy/SaveBar.tsx'
import { TextField } from '../../ui/TextField.tsx'
import { EmailSection } from './EmailSection.tsx'

/** The user's account, with forms for the display name and the address. */
export function ProfilePage() {
  const { userId, email, displayName = '' } = useSession()
  const rename = useCommand('users_SetDisplayName', {
    invalidates: ['users_GetDetails', 'users_Query', 'organizations_QueryMembers'],
  })
  const form = useTextForm({
    defaultValues: { displayName },
    validate: values => ({
      displayName: values.displayName.trim() ? undefined : 'Display name must not be empty.',
    }),
    submit: async values => {
      const name = values.displayName.trim()
      try {
        await rename.mutateAsync({ userId, displayName: name })
      } catch {
        return // The form shows the error.
      }
      form.reset({ displayName: name })
      toast('Name saved.')
    },
  })
  return (
    <Page width="settings">
      <PageHead title="Profile" />
      <div className="stack">
        <Section title="Account">
          <FactList columns={2}>
            <Fact label="Email">{email}</Fact>
            <Fact label="Id">
              <Id id={userId} what="user id" />
            </Fact>
          </FactList>
        </Section>
        <Section title="Display Name" padded={false}>
          <form noValidate onSubmit={event => void submitForm(event, form)}>
            <div className={formStyles.fields}>
              <ErrorAlert title="The name was not saved." error={rename.error} />
              <form.Field name="displayName">
                {field => (
                  <TextField label="Display name" required autoComplete="name" {...bindText(field)} />
                )}
              </form.Field>
            </div>
            <SaveBar>
              <SubmitButton form={form} busyLabel="Saving…">
                Save
              </SubmitButton>
            </SaveBar>
          </form>
        </Section>
        <EmailSection />
      </div>
    </Page>
  )
}
