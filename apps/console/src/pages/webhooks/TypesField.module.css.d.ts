declare const styles: {
  readonly types: string
}
export default styles
