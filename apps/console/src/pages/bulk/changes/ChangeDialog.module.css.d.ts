declare const styles: {
  readonly dialog: string
  readonly live: string
  readonly rename: string
}
export default styles
