/**
 * A text of the specification. A string is the whole text of an element or of a text node; texts for screen readers only do
 * not count.
 */
export type SpecifiedText =
  | string
  /** A part of a longer text. */
  | { part: string }
  /** The whole text of a heading. */
  | { heading: string }
  /** Column headers of one table, in this order. Other columns may be between them. */
  | { columns: readonly string[] }
  /** Texts of cells in one row of a table. Each is the whole text of its cell. */
  | { row: readonly string[] }
  /** A confirmation prompt of the browser. */
  | { question: string }

/** Texts that one situation must show. Several entries may share a situation. */
export type SpecifiedSituation = {
  /** Sections of docs/product.md that give the texts. */
  section: string
  /** Page and state, by the words of docs/product.md. */
  situation: string
  texts: readonly SpecifiedText[]
  /** Texts that this situation must not show. */
  absent?: readonly string[]
}

const PAGE_NOT_FOUND = [
  { heading: 'Page not Found' },
  'The page you are looking for does not exist. Please check the URL or go back to the home page.',
] as const

const EVENT_COLUMNS = { columns: ['ID', 'Timestamp', 'Type', 'Actor', 'Data', 'Action/Job id'] } as const
/** Columns of the logs for which the specification names no columns. An expanded row also shows ID and Data. */
const LOG_COLUMNS = { columns: ['Timestamp', 'What happened', 'Type', 'Actor', 'Action/Job id'] } as const

/** The texts that the specification gives exactly, by the situation in which the console shows them. */
export const SITUATIONS = [
  // Public pages
  {
    section: '2, 5',
    situation: 'login page, nothing typed',
    texts: ['beta', 'Email (required)', 'Password (required)', 'Remember me (optional)'],
  },
  {
    section: '5',
    situation: 'login page, sent blank',
    texts: ['Please enter your email address.', 'Please enter your password.'],
  },
  {
    section: '8',
    situation: 'login page, sign-in failed',
    texts: ['Error', 'Invalid username or password!'],
  },
  {
    section: '2, 5',
    situation: 'sign-up page, nothing typed',
    texts: [
      'Full name (required)',
      'Work email (required)',
      'Password (required)',
      'Confirm password (required)',
      { part: '(required)' },
      { part: '(optional)' },
    ],
  },
  {
    section: '5',
    situation: 'sign-up page, sent with wrong input',
    texts: [
      'Please enter your full name.',
      'Please enter a valid email address.',
      'Password must be at least 8 characters long.',
      'Passwords do not match.',
      'Please agree to the Terms of Service and Privacy Policy.',
    ],
  },
  {
    section: '8',
    situation: 'sign-up page, request failed',
    texts: ['An Error Occurred', { part: 'Please try again later. The database is away.' }],
  },
  {
    section: '2',
    situation: 'activation page, waiting for the answer',
    texts: [{ heading: 'Activating Account' }],
  },
  {
    section: '4',
    situation: 'activation page, Completed',
    texts: [{ heading: 'Account Activated' }],
  },
  {
    section: '4, 8',
    situation: 'activation page, Failed',
    texts: [{ heading: 'Account Activation Failed' }, 'Your account may have already been activated.'],
  },
  {
    section: '8',
    situation: 'activation page, request failed',
    texts: [{ heading: 'Account Activation Failed' }, 'The database is away.'],
  },
  {
    section: '2',
    situation: 'page to reset the password',
    texts: [
      { heading: 'Under Construction' },
      'This feature is currently under construction and will be available soon.',
    ],
  },
  { section: '2', situation: 'unknown address, signed out', texts: PAGE_NOT_FOUND },

  // Pages that are absent or fail
  { section: '2', situation: 'unknown address, signed in', texts: PAGE_NOT_FOUND },
  { section: '2', situation: 'project that is not there', texts: [...PAGE_NOT_FOUND, 'Show Error'] },
  { section: '2', situation: 'device that is not there', texts: [...PAGE_NOT_FOUND, 'Show Error'] },
  { section: '2', situation: 'repository that is not there', texts: [...PAGE_NOT_FOUND, 'Show Error'] },
  { section: '2', situation: 'package that is not there', texts: [...PAGE_NOT_FOUND, 'Show Error'] },
  { section: '2', situation: 'version that is not there', texts: [...PAGE_NOT_FOUND, 'Show Error'] },
  {
    section: '2',
    situation: 'page that fails',
    texts: [{ heading: 'Something went wrong!' }, 'Show Error'],
    absent: ['Hide Error'],
  },
  {
    section: '2',
    situation: 'page that fails, error shown',
    texts: [{ heading: 'Something went wrong!' }, 'Hide Error'],
    absent: ['Show Error'],
  },

  // Top bar
  {
    section: '2',
    situation: 'projects',
    texts: ['beta', 'Projects', 'Repositories', 'Settings', 'Administrator'],
  },
  {
    section: '2, 6',
    situation: 'account menu of an administrator',
    texts: ['Administrator', 'Invitations', 'Settings', 'Administration', 'Log Out'],
  },
  {
    section: '2, 6',
    situation: 'account menu of a user without a display name',
    texts: ['My Account', 'mira@halden.example', 'Invitations', 'Settings', 'Log Out'],
    absent: ['Administration'],
  },

  // Projects
  { section: '2', situation: 'projects', texts: ['First project', 'Create Project'] },
  {
    section: '2, 5',
    situation: 'dialog Create Project, sent empty',
    texts: [{ heading: 'Create Project' }, 'Name (required)', 'Name must not be empty.'],
  },
  {
    section: '2',
    situation: 'devices',
    texts: ['First project', 'All Projects', 'Devices', 'Tokens', 'Audit Log', 'Repositories', 'Settings'],
  },
  {
    section: '2, 4',
    situation: 'devices',
    texts: [
      { columns: ['Name', 'Id', 'First Seen', 'Status', 'Pending Certificates'] },
      { row: ['crane-1', 'Connected', '0', 'View'] },
      { row: ['unnamed', 'Disconnected', '1', 'View'] },
    ],
  },
  {
    section: '2',
    situation: 'guide for a further device',
    texts: ['This machine', 'A Linux device', 'Public Nexigon agent', 'Simulated'],
  },
  {
    section: '2, 4, 5',
    situation: 'device that is connected',
    texts: [
      { heading: 'crane-1' },
      'Connected',
      'HTTP Proxy',
      { heading: 'OTA Update Status' },
      'Name (optional)',
      { heading: 'System Info' },
      'Network interfaces',
      'Disks',
      { heading: 'Properties' },
      { heading: 'Certificates' },
      { heading: 'Recent Events' },
      { heading: 'Connections' },
      { heading: 'Danger Zone' },
      'Delete Device',
    ],
    absent: ['unnamed'],
  },
  {
    section: '2, 4',
    situation: 'device that is disconnected and has no name',
    texts: [{ heading: 'unnamed' }, 'Disconnected'],
    absent: ['Connected'],
  },
  {
    section: '9',
    situation: 'device that is connected',
    texts: [
      '1.5 GiB',
      { row: ['/dev/a', '1023 B', '512 B (50 %)'] },
      { row: ['/dev/b', '1.0 KiB', '341 B (33 %)'] },
      { row: ['/dev/c', '2.0 MiB', '1.5 KiB (0 %)'] },
    ],
  },
  {
    section: '9',
    situation: 'device that is connected',
    texts: [{ row: ['119 s'] }, { row: ['2 m'] }, { row: ['1 h 1 m'] }, { row: ['1 d 2 h 3 m'] }],
  },
  { section: '4', situation: 'update that is completed', texts: ['COMPLETED'] },
  { section: '4', situation: 'update that failed', texts: ['FAILED'] },
  { section: '4', situation: 'update in another state', texts: ['COMMITTING'] },
  {
    section: '4',
    situation: 'device that is connected',
    texts: ['Trace', 'Debug', 'Info', 'Warning', 'Error', 'Critical'],
  },
  {
    section: '4',
    situation: 'certificate that is pending',
    texts: [{ row: ['Pending', 'Accept', 'Reject'] }],
    absent: ['Revoke'],
  },
  {
    section: '4',
    situation: 'device that is connected',
    texts: [{ row: ['Active', 'Revoke'] }],
    absent: ['Accept', 'Reject'],
  },
  {
    section: '4',
    situation: 'certificate that was rejected',
    texts: [{ row: ['Rejected'] }],
    absent: ['Accept', 'Reject', 'Revoke'],
  },
  {
    section: '4',
    situation: 'certificate that was revoked',
    texts: [{ row: ['Revoked'] }],
    absent: ['Accept', 'Reject', 'Revoke'],
  },
  { section: '2', situation: 'deployment tokens', texts: ['New Token', { columns: ['Name', 'Created At'] }] },
  {
    section: '2, 5',
    situation: 'dialog New Token of a project, sent empty',
    texts: [{ heading: 'New Token' }, 'Name (required)', 'Name must not be empty.'],
  },
  {
    section: '4',
    situation: 'deployment token that was created',
    texts: [{ part: 'cannot be viewed later' }],
  },
  {
    section: '5',
    situation: 'deployment token, about to be deleted',
    texts: [{ question: 'Are you sure you want to delete this token?' }],
  },
  {
    section: '2, 5',
    situation: 'linked repositories, sent without a choice',
    texts: ['Link Repository', 'Choose a repository.'],
  },
  {
    section: '2',
    situation: 'linked repositories, one linked',
    texts: [{ columns: ['Name', 'Id'] }, { row: ['fleet-tools'] }],
  },
  { section: '2', situation: 'audit log of a project', texts: [{ heading: 'Audit Log' }, LOG_COLUMNS] },
  {
    section: '2',
    situation: 'settings of a project',
    texts: [{ heading: 'Danger Zone' }, 'Delete Project'],
  },
  {
    section: '5',
    situation: 'project, about to be deleted',
    texts: [{ question: 'Are you sure you want to delete this project?' }],
  },

  // Repositories
  { section: '2', situation: 'repositories', texts: ['fleet-images', 'Private', 'New Repository'] },
  {
    section: '2, 5',
    situation: 'dialog New Repository',
    texts: [{ heading: 'New Repository' }, 'Name (required)'],
  },
  { section: '4, 8', situation: 'dialog New Repository, name is taken', texts: ['This name is taken.'] },
  {
    section: '2',
    situation: 'packages',
    texts: ['fleet-images', 'All Repositories', 'Packages', 'Assets', 'Audit Log', 'Settings'],
  },
  {
    section: '1, 2',
    situation: 'packages, none yet',
    texts: ['Packages can currently only be managed through the command-line tool.'],
  },
  {
    section: '1, 2',
    situation: 'packages',
    texts: [
      'Packages can currently only be managed through the command-line tool.',
      { row: ['os-image', 'View'] },
    ],
  },
  {
    section: '2',
    situation: 'versions of a package',
    texts: [{ columns: ['Id', 'Created At', 'Tags'] }, { row: ['1.4.0', 'stable', 'View'] }],
  },
  {
    section: '2',
    situation: 'version with a file',
    texts: [
      { heading: 'Tags' },
      '1.4.0',
      { columns: ['Filename', 'Digest', 'Size in bytes'] },
      { row: ['image.raw', '1,536'] },
    ],
  },
  {
    section: '2',
    situation: 'assets of a repository',
    texts: [{ columns: ['Name', 'Digest', 'Size in bytes'] }, { row: ['1,536'] }],
  },
  { section: '2', situation: 'audit log of a repository', texts: [{ heading: 'Audit Log' }, LOG_COLUMNS] },
  {
    section: '2, 4, 5',
    situation: 'settings of a private repository',
    texts: [
      { heading: 'S3 Configuration' },
      'Endpoint (required)',
      'Bucket (required)',
      'Region (required)',
      'Prefix (optional)',
      'Access key id (required)',
      'Secret access key (required)',
      { heading: 'Danger Zone' },
      'Make Public',
      'Delete Repository',
    ],
    absent: ['Make Private'],
  },
  {
    section: '4',
    situation: 'settings of a public repository',
    texts: ['Make Private'],
    absent: ['Make Public'],
  },
  {
    section: '5',
    situation: 'S3 configuration, sent empty',
    texts: [
      'Endpoint must not be empty.',
      'Bucket must not be empty.',
      'Region must not be empty.',
      'Access key id must not be empty.',
      'Secret access key must not be empty.',
    ],
  },
  {
    section: '5',
    situation: 'visibility, about to be changed',
    texts: [{ question: 'Are you sure you want to change the visibility?' }],
  },
  {
    section: '5',
    situation: 'repository, about to be deleted',
    texts: [{ question: 'Are you sure you want to delete this repository?' }],
  },

  // Organization
  {
    section: '2, 6',
    situation: 'members and pending invitations',
    texts: [
      'Members',
      { row: ['Administrator', 'Admin'] },
      { row: ['mira@halden.example', 'Member'] },
      { row: ['invited@halden.example'] },
      'Invite User',
    ],
  },
  {
    section: '2, 5',
    situation: 'dialog Invite User, sent empty',
    texts: [{ heading: 'Invite User' }, 'Email (required)', 'Please enter an email address.'],
  },
  {
    section: '5',
    situation: 'dialog Invite User, sent with something else',
    texts: ['Please enter a valid email address.'],
  },

  // Account
  {
    section: '2',
    situation: 'invitations',
    texts: [{ columns: ['Organization id', 'Name'] }, { row: ['Halden Cranes', 'Accept'] }],
  },
  { section: '2', situation: 'profile', texts: ['Profile', 'Security', 'Sessions'] },
  {
    section: '5',
    situation: 'profile, sent blank',
    texts: ['Display name (required)', 'Display name must not be empty.'],
  },
  {
    section: '5',
    situation: 'password page, sent with wrong input',
    texts: ['Password must be at least 8 characters long.', 'Passwords do not match.'],
  },
  {
    section: '5',
    situation: 'dialog New Token of a user, sent empty',
    texts: ['Name (required)', 'Name must not be empty.'],
  },
  {
    section: '4',
    situation: 'user token that was created',
    texts: [{ part: 'cannot be viewed later' }],
  },
  {
    section: '5',
    situation: 'user token, about to be deleted',
    texts: [{ question: 'Are you sure you want to delete this token?' }],
  },
  {
    section: '2',
    situation: 'sessions',
    texts: [{ columns: ['Id', 'User agent', 'Created At', 'Expires At'] }],
  },

  // Administration
  {
    section: '2',
    situation: 'dashboard',
    texts: ['Dashboard', 'Users', 'Event Log', 'Actions Log', 'Cluster'],
    absent: ['Jobs'],
  },
  {
    section: '2',
    situation: 'dashboard',
    texts: ['Devices', 'Projects', 'Users', 'Cluster Nodes'],
  },
  {
    section: '2',
    situation: 'users',
    texts: [
      { columns: ['Id', 'Name', 'Email', 'Admin'] },
      { row: ['Administrator', 'Yes'] },
      { row: ['mira@halden.example', 'No'] },
      'New User',
    ],
  },
  {
    section: '2, 5',
    situation: 'dialog New User',
    texts: [{ heading: 'New User' }, 'Email (required)', 'Name (optional)', 'Admin (optional)'],
  },
  {
    section: '4, 8',
    situation: 'dialog New User, email is taken',
    texts: ['User with that email already exists.'],
  },
  {
    section: '8',
    situation: 'dialog New User, failure with a message',
    texts: ['The database is away.'],
  },
  {
    section: '8',
    situation: 'dialog New User, failure without a message',
    texts: ['An error occurred while creating the user.'],
  },
  { section: '2', situation: 'event log', texts: [{ heading: 'Event Log' }, EVENT_COLUMNS] },
  {
    section: '2, 4',
    situation: 'actions log',
    texts: [
      { heading: 'Actions Log' },
      { columns: ['ID', 'Type', 'Actor', 'Data', 'Status'] },
      { row: ['projects_LinkRepository', 'Succeeded'] },
      'Rejected',
      'Panicked',
      'Failed',
      'Pending',
    ],
  },
  {
    section: '2, 4',
    situation: 'jobs',
    texts: [
      { columns: ['ID', 'Timestamp', 'Type', 'Queued', 'Status'] },
      'Pending',
      'Completed',
      'Failed',
      'Expired',
      'Cancelled',
    ],
  },
  {
    section: '2',
    situation: 'cluster',
    texts: [{ heading: 'Cluster' }, { columns: ['Id', 'Name', 'Uptime'] }],
  },
] as const satisfies readonly SpecifiedSituation[]

/** Quoted texts of docs/product.md that no page shows. The console throws errors with these messages but does not show them. */
export const NEVER_SHOWN: readonly string[] = [
  'Not logged in',
  'User ID is not available',
  'User cancelled the action',
]
