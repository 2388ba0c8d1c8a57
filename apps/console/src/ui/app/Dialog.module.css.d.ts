declare const styles: {
  readonly body: string
  readonly dialog: string
  readonly foot: string
}
export default styles
