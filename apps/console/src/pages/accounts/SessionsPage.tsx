import type { ActionOutput } from '@muster/actions/client'
import { useQueryClient } from '@tanstack/react-query'
import { useNavigate } from '@tanstack/react-router'
import { Trash2 } from 'lucide-react'
import { useActionPages, useCommand } from '../../api/queries.ts'
import { counted } from '../../lib/app/format.ts'
import { describeUserAgent } from '../../lib/app/user-agent.ts'
import { focusHeading } from '../../lib/focus-heading.ts'
import { closeSession, endSession, useSession } from '../../session.ts'
import { Badge } from '../../ui/app/Badge.tsx'
import { IconButton } from '../../ui/app/IconButton.tsx'
import { Id } from '../../ui/app/Id.tsx'
import { ListPage } from '../../ui/app/ListPage.tsx'
import { Time } from '../../ui/app/Time.tsx'
import { toast, toastError } from '../../ui/app/toast.ts'
import { Button } from '../../ui/Button.tsx'
import { ACTIONS, Cell, type Column, Row, Table } from '../../ui/lazy/Table.tsx'
import styles from './SessionsPage.module.css'

const PAGE_SIZE = 100

/** Sessions of the user. Ending a session needs no confirmation (docs/decisions.md). */
export function SessionsPage() {
  const { userId } = useSession()
  const list = useActionPages('users_QuerySessions', { userId, limit: PAGE_SIZE })
  const sessions = list.data?.pages.flatMap(page => page.sessions)
  const others = (list.data?.pages[0]?.total ?? sessions?.length ?? 1) - 1
  return (
    <ListPage
      title="Sessions"
      what="sessions"
      list={list}
      shown={sessions?.length}
      actions={<EndOthersButton userId={userId} count={others} />}
    >
      <Table
        caption="Sessions"
        columns={COLUMNS}
        bars={2}
        rows={sessions?.map(session => <SessionRow key={session.sessionId} session={session} />)}
      />
    </ListPage>
  )
}

/** Button that ends all sessions of the user except the current one. Without others it is disabled and keeps its place. */
function EndOthersButton({ userId, count }: { userId: string; count: number }) {
  const end = useCommand('users_TerminateSessions', { invalidates: ['users_QuerySessions'] })
  async function endOthers() {
    try {
      await end.mutateAsync({ userId })
      toast(`${counted(count, 'other session')} ended.`)
      focusHeading()
    } catch (error) {
      toastError('Could not end the sessions', error)
    }
  }
  return (
    <Button busy={end.isPending} busyLabel="Ending…" disabled={count === 0} onClick={() => void endOthers()}>
      End all other sessions
    </Button>
  )
}

const COLUMNS: readonly Column[] = [
  { name: 'Id' },
  { name: 'User agent', kind: 'title' },
  { name: 'Created At' },
  { name: 'Expires At' },
  ACTIONS,
]

type Session = ActionOutput<'users_QuerySessions'>['sessions'][number]

function SessionRow({ session }: { session: Session }) {
  const { sessionId, userAgent, createdAt, expiresAt, isCurrent } = session
  const queryClient = useQueryClient()
  const navigate = useNavigate()
  const words = describeUserAgent(userAgent)
  const terminate = useCommand('users_TerminateSession', {
    invalidates: isCurrent ? [] : ['users_QuerySessions'],
  })

  async function end() {
    try {
      if (isCurrent) {
        await closeSession(queryClient, () => terminate.mutateAsync({ sessionId }))
        await navigate({ to: '/login' })
        endSession(queryClient)
        return
      }
      await terminate.mutateAsync({ sessionId })
      toast('Session ended.')
      focusHeading()
    } catch (error) {
      toastError('Could not end the session', error)
    }
  }

  return (
    <Row>
      <Cell>
        <Id id={sessionId} what="session id" />
      </Cell>
      <Cell>
        <div className={`stack tight ${styles.agent}`}>
          {(words || isCurrent) && (
            <span className="row">
              {words}
              {isCurrent && <Badge tone="info">This session</Badge>}
            </span>
          )}
          <span className="muted truncated" title={userAgent}>
            {userAgent}
          </span>
        </div>
      </Cell>
      <Cell>
        <Time at={createdAt} />
      </Cell>
      <Cell>
        <Time at={expiresAt} />
      </Cell>
      <Cell>
        <IconButton
          label={`End session ${sessionId}`}
          icon={Trash2}
          size="sm"
          // After the end of this session, the button stays busy until the login page is shown.
          busy={terminate.isPending || (isCurrent && terminate.isSuccess)}
          onClick={() => void end()}
        />
      </Cell>
    </Row>
  )
}
