declare const styles: {
  readonly person: string
}
export default styles
