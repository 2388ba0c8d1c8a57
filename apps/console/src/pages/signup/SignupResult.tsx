import type { ActionOutput } from '@muster/actions/client'
import { MailCheck, MailQuestionMark, UserCheck } from 'lucide-react'
import { useEffect } from 'react'
import { useCommand } from '../../api/queries.ts'
import { focusHeading } from '../../lib/focus-heading.ts'
import { Alert } from '../../ui/Alert.tsx'
import { Button } from '../../ui/Button.tsx'
import { LinkButton } from '../../ui/LinkButton.tsx'
import { RequestFailed } from '../../ui/RequestFailed.tsx'
import { Result, ResultIcon } from '../../ui/Result.tsx'

type SignupResultProps = { result: ActionOutput<'users_Register'>['result']; email: string }

/** The result of a sign-up (docs/specification.md 4). */
export function SignupResult({ result, email }: SignupResultProps) {
  // The focused form has disappeared, so the heading takes the focus.
  useEffect(() => focusHeading(), [])
  switch (result) {
    case 'Created':
      return (
        <Result
          art={<ResultIcon icon={MailCheck} />}
          title="Check your mail"
          action={<LinkButton to="/login">Log in</LinkButton>}
        >
          We sent a message to <b>{email}</b>. Open the link in it to activate your account.
        </Result>
      )
    case 'Pending':
      return (
        <Result
          art={<ResultIcon icon={MailQuestionMark} />}
          title="Registration pending"
          action={<ResendMail email={email} />}
        >
          A registration for <b>{email}</b> is already pending. Open the link in the message that we sent to
          activate the account.
        </Result>
      )
    case 'EmailAlreadyExists':
      return (
        <Result
          art={<ResultIcon icon={UserCheck} />}
          title="Account exists already"
          action={
            <div className="wrap">
              <LinkButton to="/login" variant="primary">
                Log in
              </LinkButton>
              <LinkButton to="/reset-password">Reset password</LinkButton>
            </div>
          }
        >
          There is an account with the address <b>{email}</b>. Log in, or reset your password.
        </Result>
      )
    default:
      return (
        <Result
          art={<ResultIcon icon={MailQuestionMark} />}
          title={result}
          action={<LinkButton to="/login">Log in</LinkButton>}
        >
          The hub answered with a result that this page does not know.
        </Result>
      )
  }
}

function ResendMail({ email }: { email: string }) {
  const resend = useCommand('users_ResendRegistrationEmail')
  return (
    <>
      {resend.error && <RequestFailed error={resend.error} />}
      {resend.isSuccess && <Alert tone="ok">The message is on its way again.</Alert>}
      <div className="wrap">
        <Button busy={resend.isPending} busyLabel="Sending…" onClick={() => resend.mutate({ email })}>
          Send the mail again
        </Button>
        <LinkButton to="/login" variant="ghost">
          Log in
        </LinkButton>
      </div>
    </>
  )
}
