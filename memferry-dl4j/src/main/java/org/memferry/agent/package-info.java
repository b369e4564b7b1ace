/**
 * The start-up agent: attaches the networks of a program that knows nothing of MemFerry. It is packed apart from the library, which it
 * reaches only through {@link org.memferry.agent.Hook}, and holds Byte Buddy under a name of its own.
 */
package org.memferry.agent;
