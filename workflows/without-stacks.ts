/**
 * Loaded before any workflow: errors of workflow code carry no stack.
 *
 * The SDK asks for one with every promise that workflow code makes, and looks each line of it up in the bundle's source map,
 * for a query that shows where a workflow waits. That was a third of what the workflows' thread did. Messages, codes and
 * histories are as before; whoever needs the stack of an error replays the history with a bundle that keeps them (ADR 33).
 */

// V8 captures none for a constructor without a limit.
Reflect.deleteProperty(Error, 'stackTraceLimit');
