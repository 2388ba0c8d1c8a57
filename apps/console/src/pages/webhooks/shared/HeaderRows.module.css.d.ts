declare const styles: {
  readonly header: string
  readonly headers: string
}
export default styles
